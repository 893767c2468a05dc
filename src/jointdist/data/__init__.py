"""Tables in, row blocks out: reading, encoding, splitting and working through rows."""
