"""Executes a notebook in its folder; fails with the cell that raises. The file stays as it is.

    python3 execute_notebook.py NOTEBOOK
"""

import pathlib
import sys

import nbclient
import nbformat

file = pathlib.Path(sys.argv[1])
notebook = nbformat.read(file, as_version=4)
stored = [cell for cell in notebook.cells if cell.cell_type == "code" and (cell.outputs or cell.execution_count)]
if stored:
    sys.exit(f"{file}: {len(stored)} cells have stored outputs: clear them, measured numbers are recorded elsewhere")
nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(file.parent)}}).execute()
pictures = sum("image/png" in output.get("data", {}) for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs)
print(f"{file.name}: executed, {pictures} pictures")
if pictures < 6:
    sys.exit(f"{file}: only {pictures} pictures")
