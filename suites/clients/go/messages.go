package main

import (
	"errors"
	"fmt"
	"strings"

	rmqerrors "github.com/apache/rocketmq-client-go/v2/errors"
	"github.com/apache/rocketmq-client-go/v2/primitive"
)

// Sent is a message of a command.
type Sent struct {
	Topic      string            `json:"topic"`
	Tags       string            `json:"tags"`
	Keys       string            `json:"keys"`
	Body       []byte            `json:"body"`
	DelayLevel int               `json:"delay_level"`
	Properties map[string]string `json:"properties"`
}

func (s *Sent) message() *primitive.Message {
	message := primitive.NewMessage(s.Topic, s.Body)
	if s.Tags != "" {
		message.WithTag(s.Tags)
	}
	if s.Keys != "" {
		message.WithKeys([]string{s.Keys})
	}
	if s.DelayLevel > 0 {
		message.WithDelayTimeLevel(s.DelayLevel)
	}
	for name, value := range s.Properties {
		message.WithProperty(name, value)
	}
	return message
}

func shown(message *primitive.MessageExt) Fields {
	return Fields{
		"topic":      message.Topic,
		"body":       message.Body,
		"offset":     message.QueueOffset,
		"message_id": message.OffsetMsgId,
		"times":      message.ReconsumeTimes,
		"born_ms":    message.BornTimestamp,
		"stored_ms":  message.StoreTimestamp,
		"properties": message.GetProperties(),
	}
}

func result(id int64, sent *primitive.SendResult) Fields {
	fields := Fields{"id": id, "status": word(sent.Status), "offset": sent.QueueOffset,
		"message_id": sent.OffsetMsgID, "unique_key": sent.MsgID, "transaction_id": sent.TransactionID}
	if sent.MessageQueue != nil {
		fields["broker"], fields["queue"] = sent.MessageQueue.BrokerName, sent.MessageQueue.QueueId
	}
	return fields
}

func word(status primitive.SendStatus) string {
	switch status {
	case primitive.SendOK:
		return "SEND_OK"
	case primitive.SendFlushDiskTimeout:
		return "FLUSH_DISK_TIMEOUT"
	case primitive.SendFlushSlaveTimeout:
		return "FLUSH_SLAVE_TIMEOUT"
	case primitive.SendSlaveNotAvailable:
		return "SLAVE_NOT_AVAILABLE"
	}
	return "UNKNOWN_STATUS"
}

// The protocol's word for an error: what was certainly not sent is told apart from what nobody knows.
func failure(id int64, err error) Fields {
	fields := Fields{"id": id, "error": err.Error(), "status": "CLIENT_ERROR"}
	var broker primitive.MQBrokerErr
	text := err.Error()
	switch {
	case errors.As(err, &broker):
		fields["status"] = fmt.Sprintf("CODE_%d", broker.ResponseCode)
	case errors.Is(err, rmqerrors.ErrRequestTimeout) || strings.Contains(text, "timeout"):
		fields["status"] = "TIMEOUT"
	case strings.Contains(text, "route info not found"):
		fields["status"] = "NO_ROUTE"
	case strings.Contains(text, "connection refused") || strings.Contains(text, "no route to host"):
		fields["status"] = "CONNECT_FAILED"
	case strings.Contains(text, "EOF") || strings.Contains(text, "reset") || strings.Contains(text, "closed"):
		fields["status"] = "CONNECTION_CLOSED"
	}
	return fields
}
