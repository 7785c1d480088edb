"""What each page says, asked of the pages' file: a module a page, answers are frozen records, the same for HTML and JSON."""
