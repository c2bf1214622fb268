"""The way to a master control: connections to an MQTT broker, one for each vehicle, in a thread of their own."""
