"""The vocabulary and the mechanics of breaking things, and of putting them back."""
