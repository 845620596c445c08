"""Orders, and what is printed and sent of them."""
