"""What a person sees of a verdict: sentences and drawings."""
