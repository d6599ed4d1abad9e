import { App } from "./app";
import "./style.css";

const url = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/`;
const app = new App(() => new WebSocket(url, "tactus.v1") as never);
// For the tests and the curious: what the page knows.
(globalThis as { tactus?: App }).tactus = app;
app.start();
