package api

// HookGates are the hook events of coding agents whose answer allows or denies a call:
// where such a hook fails, the call must not run.
var HookGates = []string{"PreToolUse", "PermissionRequest", "preToolUse", "beforeShellExecution", "beforeMCPExecution"}
