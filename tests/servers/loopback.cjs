// Preloaded into servers of others: they listen on a free loopback port, and say which.
const net = require("node:net");
const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (...given) {
  const ready = given.find((one) => typeof one === "function");
  return listen.call(this, 0, "127.0.0.1", () => {
    console.error(`listening on ${this.address().port}`);
    ready?.();
  });
};
