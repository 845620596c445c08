"""Prices are read, exactly; rows with a broken number of pieces are skipped as before."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from harness import returns, run

HEAD = "sku,name,qty,price\n"

run(
    [
        (
            "prices",
            ("load", HEAD + "A,Apple,3,12.50\nB,Pear,1,7\nC,Fig,2,1.15\nD,Nut,9,0.29\nE,Oil,1,19999.99\n"),
            returns(
                [
                    5,
                    [],
                    {
                        "OLD": "kept",
                        "A": ["Apple", 3, 1250],
                        "B": ["Pear", 1, 700],
                        "C": ["Fig", 2, 115],
                        "D": ["Nut", 9, 29],
                        "E": ["Oil", 1, 1999999],
                    },
                ]
            ),
        ),
        (
            "another order of columns",
            ("load", "price,qty,sku,name\n2.00,4,A,Apple\n"),
            returns([1, [], {"OLD": "kept", "A": ["Apple", 4, 200]}]),
        ),
        (
            "a quoted name over two lines",
            ("load", HEAD + 'A,"Apple,\nred",3,1.00\nB,Pear,x,1.00\n,None,1,1.00\n'),
            returns([1, [4, 5], {"OLD": "kept", "A": ["Apple,\nred", 3, 100]}]),
        ),
        ("no row", ("load", HEAD), returns([0, [], {"OLD": "kept"}])),
    ]
)
