"""A RocketMQ in one pip install: NameServer, broker and clients, written as roles over one environment."""
