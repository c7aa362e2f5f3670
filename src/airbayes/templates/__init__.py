"""Files that `airbayes new` copies. They run as they are."""
