//go:build !unix

package backup

// giveAway does nothing on systems without these owners.
func giveAway(string, string) error { return nil }
