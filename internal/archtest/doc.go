// Package archtest holds the repository to its own rules: who may import whom,
// how long a file and a function may be, what every package must say of
// itself. It has nothing but tests. ARCHITECTURE.md gives the reasons.
package archtest
