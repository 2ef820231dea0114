"""RocketMQ's clients as roles: producer, pull consumer, administration."""
