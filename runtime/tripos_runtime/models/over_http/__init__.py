"""Models asked over our own connections, in OpenAI's form."""
