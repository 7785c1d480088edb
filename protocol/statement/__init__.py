"""Statements about releases in other people's formats, made from the log and checked with other people's tools."""
