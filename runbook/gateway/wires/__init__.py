"""What requests and responses say, one module per protocol."""
