"""What judges a run of ours: each check takes a history and the facts of its run, and gives one verdict."""
