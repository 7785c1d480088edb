"""Training data: admitted batches read into rows, drawn, turned and laid out as minibatches."""
