"""The commands of the long-term memory, and the library behind them."""
