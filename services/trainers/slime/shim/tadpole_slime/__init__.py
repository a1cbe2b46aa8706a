"""What slime imports of Tadpole: batches as its samples, and the rollout function that waits for them."""
