"""DLedger: a log that a group of brokers agrees on, and the election of its leader, wire- and disk-compatible."""
