"""Tasks whose answer is known by construction, and forms of attention that must agree.

They are drawn from a seed, or read from small data sets. Studies vary their length, the score and the network.
"""
