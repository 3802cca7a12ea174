"""Search as a service of the app: the sharded fleet, and what people see of a search."""
