"""Many runs into tables and dashboards: run folders land in a lake, Spark builds marts, marts become one HTML page."""
