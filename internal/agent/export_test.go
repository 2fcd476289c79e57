package agent

const (
	AwayTimeout = awayTimeout
	RelistPause = relistPause
)
