// Package e2e tests the programs as they are shipped: real processes, real
// disks and real NATS servers, killed and cut off in the middle of their work.
package e2e
