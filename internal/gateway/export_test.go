package gateway

// NATSSecrets lets tests look at what is taken from addresses.
var NATSSecrets = natsSecrets
