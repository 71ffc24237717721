"""What every room uses: errors, units, seeds, values, and files that are read and written safely.

It imports nothing else of httpbed, and needs no Linux.
"""
