"""Does an agent behave, whatever the model and the network do? Real runs against a scripted model."""
