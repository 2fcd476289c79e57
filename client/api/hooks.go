package api

// HookGates are the hook events of coding agents whose answer allows or denies a call:
// where such a hook fails, the call must not run.
var HookGates = []string{"PreToolUse", "PermissionRequest", "preToolUse", "beforeShellExecution", "beforeMCPExecution"}

// HookRealPaths is the field that `meup hooks send` adds to the event of a call: by the text
// of a path in the arguments, the path that it leads to by symbolic links.
const HookRealPaths = "meup_real_paths"
