// Package python has the tests of the Python SDK, which is in meup.
package python

//go:generate sh -c "if command -v python3; then python3 generate.py; else echo no python3: meup/types.py is not written; fi"
