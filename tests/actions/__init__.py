"""Answers of agents with the tool calls behind them, and how well `actions` judges them."""
