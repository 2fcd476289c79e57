function n(e){return e.asked===""?e.opener:e.asked}export{n as a};
//# sourceMappingURL=/assets/chunk-DLLJASZW.js.map
