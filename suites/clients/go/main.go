// The official Go client v2 behind the line protocol (docs/clients.md): commands on standard input, lines out.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"
)

const protocol = 1

// Command is one line of the harness; fields that do not apply are absent.
type Command struct {
	Do          string  `json:"do"`
	ID          int64   `json:"id"`
	Question    int64   `json:"question"`
	From        int64   `json:"from"`
	Role        string  `json:"role"`
	Group       string  `json:"group"`
	Nameservers string  `json:"nameservers"`
	Instance    string  `json:"instance"`
	Topic       string  `json:"topic"`
	Expression  string  `json:"expression"`
	SQL         string  `json:"sql"`
	Position    string  `json:"from_where"`
	Order       bool    `json:"order"`
	Broadcast   bool    `json:"broadcast"`
	MaxTimes    int32   `json:"max_times"`
	Retries     *int    `json:"retries"`
	TimeoutMs   int     `json:"timeout_ms"`
	TellAttempt bool    `json:"tell_attempts"`
	Mode        string  `json:"mode"`
	Shard       string  `json:"shard"`
	Broker      string  `json:"broker"`
	Queue       *int    `json:"queue"`
	Transaction string  `json:"transaction"`
	Result      string  `json:"result"`
	On          bool    `json:"on"`
	Message     *Sent   `json:"message"`
	Messages    []*Sent `json:"messages"`
}

// Handle is something that was opened and can be closed.
type Handle interface{ Close() }

// Adapter holds what was opened.
type Adapter struct {
	lines   *Lines
	mutex   sync.Mutex
	handles map[int64]Handle
}

func main() {
	adapter := &Adapter{lines: NewLines(os.Stdout), handles: map[int64]Handle{}}
	os.Stdout = os.Stderr // whatever a library prints is no line of the protocol
	adapter.lines.Say("hello", Fields{"protocol": protocol, "client": clientName(), "tells_attempts": true})
	input := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		text, err := input.ReadBytes('\n')
		if err == io.EOF {
			break
		}
		command := &Command{}
		if err := json.Unmarshal(text, command); err != nil {
			adapter.lines.Say("trouble", Fields{"text": err.Error()})
			continue
		}
		if command.Do == "end" {
			break
		}
		adapter.dispatch(command)
	}
	for _, handle := range adapter.handles {
		handle.Close()
	}
}

// What answers at once is answered in order; whatever may wait gets a goroutine.
func (a *Adapter) dispatch(command *Command) {
	switch command.Do {
	case "clock":
		a.lines.Say("clock", Fields{"id": command.ID})
	case "go", "consumed", "checked":
		a.lines.Answered(command)
	default:
		go a.carryOut(command)
	}
}

func (a *Adapter) carryOut(command *Command) {
	if err := a.act(command); err != nil {
		a.lines.Say("done", failure(command.ID, err))
	}
}

func (a *Adapter) act(command *Command) error {
	switch command.Do {
	case "open":
		return a.open(command)
	case "close":
		a.take(command.From).Close()
		a.lines.Say("done", Fields{"id": command.ID, "status": "OK"})
		return nil
	case "send", "send_batch", "request":
		producer, ok := a.handle(command.From).(*Producer)
		if !ok {
			return fmt.Errorf("%d is no producer", command.From)
		}
		return producer.Send(command)
	case "suspend":
		a.handle(command.From).(*Consumer).Suspend(command.On)
		a.lines.Say("done", Fields{"id": command.ID, "status": "OK"})
		return nil
	}
	return fmt.Errorf("this adapter knows no %s", command.Do)
}

func (a *Adapter) open(command *Command) error {
	var handle Handle
	var err error
	switch command.Role {
	case "producer", "transaction":
		handle, err = NewProducer(a.lines, command)
	case "consumer":
		handle, err = NewConsumer(a.lines, command)
	default:
		err = fmt.Errorf("this adapter has no role %s", command.Role)
	}
	if err != nil {
		return err
	}
	a.mutex.Lock()
	a.handles[command.ID] = handle
	a.mutex.Unlock()
	a.lines.Say("done", Fields{"id": command.ID, "status": "OK"})
	return nil
}

func (a *Adapter) handle(id int64) Handle {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.handles[id]
}

func (a *Adapter) take(id int64) Handle {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	handle := a.handles[id]
	delete(a.handles, id)
	return handle
}

func clientName() string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "github.com/apache/rocketmq-client-go/v2" {
			return "rocketmq-client-go " + module.Version
		}
	}
	return "rocketmq-client-go"
}
