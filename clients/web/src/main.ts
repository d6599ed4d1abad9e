import { Page } from "./page";
import "./style.css";

const page = new Page();
// For the tests and the curious: what the page knows.
(globalThis as { tactus?: Page }).tactus = page;
void page.start(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/`, location.search);
