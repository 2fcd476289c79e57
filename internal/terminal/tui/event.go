package tui

import (
	"github.com/meup-protocol/meup/client"
	"github.com/meup-protocol/meup/client/api"
	"github.com/meup-protocol/meup/protocol"
)

// event is something that has happened; the model is a fold over events.
type event any

type (
	// typed: the person has entered a message or a command.
	typed struct{ text string }
	// received: an envelope has come.
	received struct{ env protocol.Envelope }
	// missed: envelopes are missing.
	missed struct{ err *client.GapError }
	// linked: the connection's state is another one.
	linked struct{ state client.State }
	// ended: there will be no more envelopes.
	ended struct{ err error }
	// ticked: time has gone on while somebody thinks.
	ticked struct{}

	// answered is what became of a send.
	answered struct {
		id  protocol.ID
		err error
	}
	// turnRead is what became of a readTurn.
	turnRead struct {
		asked readTurn
		turn  *api.TurnOf
		err   error
	}
	// historyRead is what became of a readHistory.
	historyRead struct {
		asked readHistory
		turns []api.Turn
		more  bool // there are older ones, which were not asked for
		err   error
	}
	// exported is what became of an export.
	exported struct {
		file string
		size int
		err  error
	}
	// peopleRead is what became of a readPeople.
	peopleRead struct {
		here []protocol.Participant
		err  error
	}
	// grantsRead is what became of a readGrants.
	grantsRead struct {
		asked readGrants
		envs  []protocol.Envelope
		err   error
	}
)

// effect is something to be done outside the model.
type effect any

type (
	// send puts an envelope into the log.
	send struct{ env protocol.Envelope }
	// readTurn asks for the turn of an envelope; show: for its reasoning, and
	// not for its number alone.
	readTurn struct {
		envelope protocol.ID
		agent    protocol.ParticipantID // whose reasoning is shown
		show     bool
		mine     bool // the turn is of a conversation that I take part in
	}
	// readHistory asks for turns of a thread.
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
	// readGrants asks for the grants that the log knows, to revoke those of who.
	readGrants struct{ who protocol.ParticipantID }
	// readPeople asks who is here, and what they may do now.
	readPeople struct{}
	// leave ends the program.
	leave struct{}
)

// which turns are meant.
type which int

const (
	latest which = iota // the most recent completed one
	one                 // the one with a number
	all
)
