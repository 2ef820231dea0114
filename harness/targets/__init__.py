"""What can be put under test: the reference broker, or Apache RocketMQ of a given version."""
