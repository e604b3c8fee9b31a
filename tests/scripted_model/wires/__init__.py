"""One module a wire: `read` a request, write an answer `whole` or as `events`, write an `error`."""
