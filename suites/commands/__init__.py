"""Commands that come with the suites: a checkout has them, the installed package has not."""
