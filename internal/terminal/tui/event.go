package tui

import (
	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/protocol"
)

// event is an input of the model; the model is a fold over events.
type event any

type (
	// typed: the person has entered a message or a command.
	typed struct{ text string }
	// received: an envelope has arrived.
	received struct{ env protocol.Envelope }
	// missed: envelopes are missing.
	missed struct{ err *client.GapError }
	// linked: the state of the connection changed.
	linked struct{ state client.State }
	// ended: no more envelopes will arrive.
	ended struct{ err error }
	// ticked: time has passed while reasoning is in progress.
	ticked struct{}

	// answered is the result of a send.
	answered struct {
		id  protocol.ID
		err error
	}
	// turnRead is the result of a readTurn.
	turnRead struct {
		asked readTurn
		turn  *api.TurnOf
		err   error
	}
	// historyRead is the result of a readHistory.
	historyRead struct {
		asked readHistory
		turns []api.Turn
		more  bool // there are older turns, which were not read
		err   error
	}
	// exported is the result of an export.
	exported struct {
		file string
		size int
		err  error
	}
	// peopleRead is the result of a readPeople.
	peopleRead struct {
		here []protocol.Participant
		err  error
	}
	// grantsRead is the result of a readGrants.
	grantsRead struct {
		asked readGrants
		envs  []protocol.Envelope
		err   error
	}
)

// effect is work to be done outside the model.
type effect any

type (
	// send publishes an envelope.
	send struct{ env protocol.Envelope }
	// readTurn reads the turn of an envelope. If show is set, its reasoning is
	// shown; otherwise only its number is used.
	readTurn struct {
		envelope protocol.ID
		agent    protocol.ParticipantID // the agent of the reasoning to show
		show     bool
		mine     bool // this participant takes part in the conversation
	}
	// readHistory reads turns of a thread.
	readHistory struct {
		thread protocol.ID
		which  which
		number int // of the turn, for one
	}
	// export writes a conversation into a file.
	export struct {
		thread protocol.ID
		file   string
	}
	// readGrants reads the grants in the log, to revoke those to who.
	readGrants struct{ who protocol.ParticipantID }
	// readPeople reads the connected participants and their capabilities.
	readPeople struct{}
	// leave ends the program.
	leave struct{}
)

// which selects turns.
type which int

const (
	latest which = iota // the most recent completed turn
	one                 // the turn with a number
	all
)
