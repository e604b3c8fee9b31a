"""Everything materialised: trajectories, importers, the store, haystack views, manifests."""
