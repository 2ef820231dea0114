package main

import (
	"context"
	"strings"
	"sync"
	"time"

	rocketmq "github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

// Producer sends in every way the client knows, and says of each attempt where it goes before it leaves.
type Producer struct {
	lines         *Lines
	plain         rocketmq.Producer
	transactional rocketmq.TransactionProducer
	attempts      *attempts
	states        sync.Map // transaction state by body, for the listener
}

// NewProducer opens a producer of the command's group.
func NewProducer(lines *Lines, command *Command) (*Producer, error) {
	made := &Producer{lines: lines}
	made.attempts = &attempts{
		lines: lines, tells: command.TellAttempt, ids: map[*primitive.Message]*Command{},
		otherwise: producer.NewRoundRobinQueueSelector(), byHash: producer.NewHashQueueSelector(),
	}
	options := []producer.Option{
		producer.WithNameServer(strings.Split(command.Nameservers, ";")),
		producer.WithGroupName(command.Group), producer.WithInstanceName(command.Instance),
		producer.WithQueueSelector(made.attempts), producer.WithRetry(2),
	}
	if command.Retries != nil {
		options = append(options, producer.WithRetry(*command.Retries))
	}
	if command.TimeoutMs > 0 {
		options = append(options, producer.WithSendMsgTimeout(time.Duration(command.TimeoutMs)*time.Millisecond))
	}
	var err error
	if command.Role == "transaction" {
		if made.transactional, err = rocketmq.NewTransactionProducer(made, options...); err != nil {
			return nil, err
		}
		return made, made.transactional.Start()
	}
	if made.plain, err = rocketmq.NewProducer(options...); err != nil {
		return nil, err
	}
	return made, made.plain.Start()
}

// Close shuts the client down.
func (p *Producer) Close() {
	if p.plain != nil {
		_ = p.plain.Shutdown()
	} else {
		_ = p.transactional.Shutdown()
	}
}

// Send carries out send, send_batch and request.
func (p *Producer) Send(command *Command) error {
	if command.Do == "send_batch" {
		var batch []*primitive.Message
		for _, each := range command.Messages {
			batch = append(batch, each.message())
		}
		return p.sync(command, batch...)
	}
	message := command.Message.message()
	if command.Shard != "" {
		message.WithShardingKey(command.Shard)
	}
	p.attempts.begin(message, command)
	defer p.attempts.end(message)
	switch {
	case command.Do == "request":
		return p.request(command, message)
	case command.Transaction != "":
		return p.inTransaction(command, message)
	case command.Mode == "one_way":
		if err := p.plain.SendOneWay(context.Background(), message); err != nil {
			return err
		}
		p.lines.Say("done", Fields{"id": command.ID, "status": "ONE_WAY"})
		return nil
	case command.Mode == "async":
		return p.async(command, message)
	}
	return p.sync(command, message)
}

func (p *Producer) sync(command *Command, messages ...*primitive.Message) error {
	sent, err := p.plain.SendSync(context.Background(), messages...)
	if err != nil {
		return err
	}
	p.lines.Say("done", result(command.ID, sent))
	return nil
}

func (p *Producer) async(command *Command, message *primitive.Message) error {
	return p.plain.SendAsync(context.Background(), func(_ context.Context, sent *primitive.SendResult, err error) {
		if err != nil {
			p.lines.Say("done", failure(command.ID, err))
		} else {
			p.lines.Say("done", result(command.ID, sent))
		}
	}, message)
}

func (p *Producer) request(command *Command, message *primitive.Message) error {
	timeout := time.Duration(command.TimeoutMs) * time.Millisecond
	reply, err := p.plain.Request(context.Background(), timeout, message)
	if err != nil {
		return err
	}
	p.lines.Say("done", Fields{"id": command.ID, "status": "OK", "body": reply.Body})
	return nil
}

func (p *Producer) inTransaction(command *Command, message *primitive.Message) error {
	p.states.Store(string(message.Body), command.Transaction)
	sent, err := p.transactional.SendMessageInTransaction(context.Background(), message)
	if err != nil {
		return err
	}
	p.lines.Say("done", result(command.ID, sent.SendResult))
	return nil
}

// ExecuteLocalTransaction is decided by the command.
func (p *Producer) ExecuteLocalTransaction(message *primitive.Message) primitive.LocalTransactionState {
	word, _ := p.states.Load(string(message.Body))
	return state(word)
}

// CheckLocalTransaction is decided by the harness, at each check.
func (p *Producer) CheckLocalTransaction(message *primitive.MessageExt) primitive.LocalTransactionState {
	fields := shown(message)
	fields["transaction_id"] = message.TransactionId
	return state(p.lines.Ask("checking", fields).Result)
}

func state(word any) primitive.LocalTransactionState {
	switch word {
	case "commit":
		return primitive.CommitMessageState
	case "rollback":
		return primitive.RollbackMessageState
	}
	return primitive.UnknowState
}

// attempts is the client's own way to choose a queue, with a word before each attempt. How an attempt ended it cannot
// say: the client shows that to nobody.
type attempts struct {
	lines     *Lines
	tells     bool
	otherwise producer.QueueSelector
	byHash    producer.QueueSelector
	mutex     sync.Mutex
	ids       map[*primitive.Message]*Command
}

func (a *attempts) begin(message *primitive.Message, command *Command) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.ids[message] = command
}

func (a *attempts) end(message *primitive.Message) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	delete(a.ids, message)
}

// Select is called once an attempt.
func (a *attempts) Select(
	message *primitive.Message, queues []*primitive.MessageQueue, lastBroker string,
) *primitive.MessageQueue {
	a.mutex.Lock()
	command := a.ids[message]
	a.mutex.Unlock()
	queue := a.choose(command, message, queues, lastBroker)
	if a.tells && command != nil && queue != nil {
		a.lines.Ask("trying", Fields{"id": command.ID, "broker": queue.BrokerName, "queue": queue.QueueId})
	}
	return queue
}

func (a *attempts) choose(
	command *Command, message *primitive.Message, queues []*primitive.MessageQueue, lastBroker string,
) *primitive.MessageQueue {
	if command != nil && command.Queue != nil {
		return &primitive.MessageQueue{Topic: message.Topic, BrokerName: command.Broker, QueueId: *command.Queue}
	}
	if message.GetShardingKey() != "" {
		return a.byHash.Select(message, queues, lastBroker)
	}
	return a.otherwise.Select(message, queues, lastBroker)
}
