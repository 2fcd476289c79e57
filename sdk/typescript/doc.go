// Package typescript has the tests of the TypeScript SDK, which is in src.
package typescript

//go:generate go run ./generate
