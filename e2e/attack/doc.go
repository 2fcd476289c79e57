// Package attack runs attacks on a real gateway process and checks what they
// cost the others. It has nothing but tests.
//
// Each attack works with the rights and limits of the participant that it
// plays, or with no token at all. While it runs, an honest participant in the
// same space measures how long its acknowledgements take, and the gateway's
// memory, descriptors and CPU time are read from the operating system.
package attack
