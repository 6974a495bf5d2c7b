"""Slices of files, which several machines read, and sharded archives, which they write.

The functions do what `epdb shard plan`, `games`, `copies` and `merge` do, and take the files of each
other. `scan`, `read`, `tally` and `pack` take a slice in the place of paths.
"""

from ._native import Plan, Slice, archives, copies, games, merge, plan

__all__ = ["Plan", "Slice", "archives", "copies", "games", "merge", "plan"]
