"""All cases, by what they are about."""

from suites.conformance.official.cases import consuming, filters, lookups, pulling, sending, transactions

__all__ = ["consuming", "filters", "lookups", "pulling", "sending", "transactions"]
