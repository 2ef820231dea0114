"""One file a command of the command line that is about many runs, imported when it is typed."""
