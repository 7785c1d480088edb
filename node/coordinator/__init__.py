"""The coordinator: takes posts, decides, trains, gates, releases, and keeps the log."""
