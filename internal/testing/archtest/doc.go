// Package archtest checks the rules of the repository: which package may import
// which, and the required documentation of packages, and whether documents name what exists. It has only tests. ARCHITECTURE.md gives the reasons.
package archtest
