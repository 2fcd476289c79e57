package redact

import "math/rand/v2"

var (
	source = rand.New(rand.NewPCG(7, 8))
	ghp    = "ghp_" + random(source, "alnum", 36)
)
